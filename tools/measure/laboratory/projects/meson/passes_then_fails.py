import pathlib

mark = pathlib.Path("ran")
if mark.exists():
    raise SystemExit(1)
mark.touch()
