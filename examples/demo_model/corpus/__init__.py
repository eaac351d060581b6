"""The grammar that writes the demo model's corpus. Standard library only; the same seed gives the same text."""
