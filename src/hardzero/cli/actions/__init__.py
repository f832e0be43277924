"""What the command line does, as functions: everything but parsing arguments and printing."""
