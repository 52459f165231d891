"""What the figure of this paper needs. Of the paper only the abstract was read: values are ours, targets those of arnaboldi2024."""

KEY = "arnaboldi2024b"
OURS = "a setting of our own: the text was not read"
