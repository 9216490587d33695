"""One module per kind of case: how it expands, renders, is read and graded by code."""
