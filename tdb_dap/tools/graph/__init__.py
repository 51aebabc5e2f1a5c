"""The graph of a model as a picture, coloured by what is to be seen."""
