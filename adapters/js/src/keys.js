/** Keys: parts joined by `/`, each without one of its own, so that no part ends another one's. */

/** A part as it stands in a key. */
export const escape = (part) => part.replaceAll("%", "%25").replaceAll("/", "%2F");

/** What `escape` was given. */
export const unescape = (part) => part.replaceAll("%2F", "/").replaceAll("%25", "%");

/** The key of these parts; an empty last part makes the prefix of all that follow. */
export const join = (...parts) => parts.map(escape).join("/");

/** The parts of a key. */
export const split = (key) => key.split("/").map(unescape);
