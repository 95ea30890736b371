"""Scripts that identify a language, or put no spaces between words."""

from __future__ import annotations

HAN, KANA, HANGUL = "zh", "ja", "ko"
BLOCKS = (
    (HAN, 0x3400, 0x4DBF),
    (HAN, 0x4E00, 0x9FFF),
    (HAN, 0xF900, 0xFAFF),
    (HAN, 0x20000, 0x3FFFF),
    (KANA, 0x3041, 0x30FF),
    (KANA, 0x31F0, 0x31FF),
    (KANA, 0xFF66, 0xFF9F),
    (HANGUL, 0x1100, 0x11FF),
    (HANGUL, 0x3131, 0x318E),
    (HANGUL, 0xAC00, 0xD7A3),
    ("th", 0x0E00, 0x0E7F),
    ("lo", 0x0E80, 0x0EFF),
    ("bo", 0x0F00, 0x0FFF),
    ("my", 0x1000, 0x109F),
    ("km", 0x1780, 0x17FF),
)
"""Languages identified by their script, each with the first and last character of a block of it."""
WITHOUT_SPACES = tuple((first, last) for language, first, last in BLOCKS if language != HANGUL)
"""First and last characters of the scripts that put no spaces between words."""
UNSPACED_LETTERS = "".join(f"{chr(first)}-{chr(last)}" for first, last in WITHOUT_SPACES)
"""Ranges of these characters for a regular expression."""

SENTENCE_ENDS = ".!?。！？｡．։؝؞؟۔܀܁܂߹।॥။።፧፨᙮។៕᠃᠉᥄᥅᭚᭛᭞᭟᰻᰼᱾᱿‼‽⁇⁈⁉\ua4ff\ua60e\ua60f\ua9c8\ua9c9\uabeb\ufe52\ufe56\ufe57"
"""Marks that end a sentence: those with Unicode's property Sentence_Terminal in scripts of today."""


def is_unspaced(text: str) -> bool:
    """True if a text begins with a character of a script that puts no spaces between words."""
    return any(first <= ord(character) <= last for character in text[:1] for first, last in WITHOUT_SPACES)
