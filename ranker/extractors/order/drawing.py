"""Draws permutation trees: as text of box-drawing characters, and as SVG."""

from __future__ import annotations

from ranker.extractors.order.charts import PermutationTree
from ranker.extractors.order.tree_parser import INVERTED, LEAF, MONOTONE, PRIMAL

_LETTER, _ROW, _BOX, _MARGIN = 9, 48, 24, 16
_FILL = {LEAF: "#ffffff", MONOTONE: "#cfe8d5", INVERTED: "#f6cfc4", PRIMAL: "#d5d4f0"}
_KIND = {MONOTONE: "in order", INVERTED: "inverted", PRIMAL: "primal"}


def operator_text(operator: tuple[int, ...]) -> str:
    """Return the usual notation of an operator: 2413, with commas from ten children."""
    return ("," if len(operator) > 9 else "").join(map(str, operator))


def _heights(tree: PermutationTree) -> list[int]:
    """Return how far every node is above its deepest leaf."""
    heights: list[int] = []
    for node in tree.nodes:
        heights.append(1 + max((heights[child] for child in node.children), default=-1))
    return heights


def draw_text(tree: PermutationTree, *, first: int = 0, width: int = 120) -> str:
    """Draw a tree over its permutation, which is the last line."""
    n_words = sum(not node.children for node in tree.nodes)
    digits = len(str(max(n_words - 1 + first, 0)))
    if not tree.nodes or n_words * (digits + 1) - 1 > width:
        return tree.brackets(first)
    heights = _heights(tree)
    rows = [[" "] * (n_words * (digits + 1)) for _ in range(2 * heights[-1] + 1)]
    centres: list[int] = []
    for node, height in zip(tree.nodes, heights, strict=True):
        row = 2 * (heights[-1] - height)
        if not node.children:
            text = str(node.low + first).rjust(digits)
            left = node.start * (digits + 1)
            centres.append(left + digits - 1)
        else:
            below = [centres[child] for child in node.children]
            centres.append((below[0] + below[-1]) // 2)
            text = operator_text(node.operator)
            left = max(centres[-1] - len(text) // 2, 0)
            branches = rows[row + 1]
            branches[below[0] : below[-1] + 1] = "─" * (below[-1] - below[0] + 1)
            for index, (child, column) in enumerate(zip(node.children, below, strict=True)):
                branches[column] = "┌" if index == 0 else "┐" if index == len(below) - 1 else "┬"
                for between in range(row + 2, 2 * (heights[-1] - heights[child])):
                    rows[between][column] = "│"
            branches[centres[-1]] = {"┌": "├", "┐": "┤", "┬": "┼"}.get(branches[centres[-1]], "┴")
        rows[row][left : left + len(text)] = text
    return "\n".join("".join(row).rstrip() for row in rows)


def draw_svg(tree: PermutationTree, *, first: int = 0) -> str:
    """Draw a tree as an SVG document: words in a row, operators above them, coloured by kind."""
    heights = _heights(tree)
    top = heights[-1] if heights else 0
    n_words = sum(not node.children for node in tree.nodes)
    column_width = _LETTER * len(str(n_words)) + 24
    width, height = 2 * _MARGIN + n_words * column_width, 2 * _MARGIN + top * _ROW + _BOX
    lines, boxes = [], []
    centres: list[float] = []
    for node, level in zip(tree.nodes, heights, strict=True):
        middle = _MARGIN + (top - level) * _ROW + _BOX / 2
        what = f"position {node.start + first}: {node.low + first}"
        if not node.children:
            centres.append(_MARGIN + (node.start + 0.5) * column_width)
            text = str(node.low + first)
        else:
            below = [centres[child] for child in node.children]
            centres.append((below[0] + below[-1]) / 2)
            text = operator_text(node.operator)
            what = (
                f"positions {node.start + first} to {node.stop - 1 + first}, values {node.low + first} to "
                f"{node.low + node.stop - node.start - 1 + first}: {text}, {_KIND[node.kind]}"
            )
            for child, column in zip(node.children, below, strict=True):
                end = _MARGIN + (top - heights[child]) * _ROW
                lines.append(f"M{centres[-1]:g} {middle + _BOX / 2:g}V{middle + _ROW / 2:g}H{column:g}V{end:g}")
        wide = max(_BOX, _LETTER * len(text) + 8)
        boxes.append(
            f'<g><title>{what}</title><rect x="{centres[-1] - wide / 2:g}" y="{middle - _BOX / 2:g}" width="{wide}" '
            f'height="{_BOX}" rx="5" fill="{_FILL[node.kind]}" stroke="#555555"/>'
            f'<text x="{centres[-1]:g}" y="{middle:g}" dy="0.35em">{text}</text></g>'
        )
    values = " ".join(str(node.low + first) for node in sorted(tree.nodes) if not node.children)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="14" text-anchor="middle">',
            f"<title>Permutation tree of {values}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<path d="{"".join(lines)}" fill="none" stroke="#555555"/>',
            *boxes,
            "</svg>\n",
        ]
    )
