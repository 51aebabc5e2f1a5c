"""Reports as one HTML file each: a program made from the pages of the VS Code extension, and the data that it shows."""
