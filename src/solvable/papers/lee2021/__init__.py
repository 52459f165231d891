"""Lee, Goldt, Saxe 2021: what is forgotten when the teacher changes, against the similarity of tasks."""
