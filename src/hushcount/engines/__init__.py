"""Data to bounded inputs; knows no privacy notion."""
