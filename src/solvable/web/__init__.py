"""The explorer: a page in which one moves a problem and sees its learning at once. Everything is computed by the library."""
