"""Seeds from names: the root of everything that is drawn."""

import hashlib


def key(*parts: int | str) -> int:
    """One signed 64-bit seed from a few numbers or names; the same on every machine and Python."""
    text = "\x1f".join(str(part) for part in parts)
    data = text.encode(errors="surrogatepass")  # a file's name may be bytes that are no text
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)
