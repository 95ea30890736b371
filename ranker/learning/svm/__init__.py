"""The ranking SVM: training targets, pairwise losses, Newton's method and the estimator."""
