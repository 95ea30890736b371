"""What a candidate says otherwise than its reference."""
