"""Keys: parts joined by `/`, each without one of its own, so that no part ends another one's."""


def escape(part: str) -> str:
    """A part as it stands in a key."""
    return part.replace("%", "%25").replace("/", "%2F")


def unescape(part: str) -> str:
    """What `escape` was given."""
    return part.replace("%2F", "/").replace("%25", "%")


def join(*parts: str) -> str:
    """The key of these parts; an empty last part makes the prefix of all that follow."""
    return "/".join(escape(part) for part in parts)


def split(key: str) -> list[str]:
    """The parts of a key."""
    return [unescape(part) for part in key.split("/")]
