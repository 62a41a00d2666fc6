"""Measurements on demand; pytest does not collect them."""
