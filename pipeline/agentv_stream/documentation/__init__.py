"""Pages, tables and JSON Schemas that are made from the code."""
