"""``python -m lfp``."""

from lfp.start import main

if __name__ == "__main__":
    main()
