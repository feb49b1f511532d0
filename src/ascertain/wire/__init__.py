"""Eyes: hooks in HTTP clients that prove what left the process. One file per client library."""
