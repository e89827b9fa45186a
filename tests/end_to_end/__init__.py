"""The product as a person meets it: real processes, a real service, a real browser-less terminal."""
