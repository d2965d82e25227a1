/** Credentials inside addresses: `https://user:secret@host`, and query values such as `?api_key=…`. */

const SECRET_PARAMETER =
  /^(.*[_-])?(api[_-]?key|apikey|key|token|secret|password|passwd|pwd|auth|authorization|credentials?|sig|signature)$/i;
/** A user name alone may be a token, as some code hosts take it; names of people and of `git` are shorter. */
const TOKEN_LENGTH = 20;
/** From the scheme's end to where an address ends in running text: each character is looked at once. */
const ADDRESS = /:\/\/[^\s"'`<>\\]+/g;

/** The text with the credentials of each address in it replaced. */
export const hideInUrls = (text: string, replacement: string): string =>
  text.includes("://") ? text.replaceAll(ADDRESS, (address) => rewrite(address, () => replacement)) : text;

/** The credentials of one address, as they are written in it; none when the value is no address. */
export function secretsIn(address: string): string[] {
  const found: string[] = [];
  rewrite(address, (secret) => {
    found.push(secret);
    return secret;
  });
  return found;
}

type Replace = (secret: string) => string;

function rewrite(address: string, replace: Replace): string {
  const [scheme, rest] = split(address, "://");
  if (rest === null) return address;
  const authority = /^[^/?#]*/.exec(rest)?.[0] ?? "";
  const [path, query] = split(rest.slice(authority.length), "?");
  const rewritten =
    query === null
      ? ""
      : `?${query
          .split("&")
          .map((pair) => rewritePair(pair, replace))
          .join("&")}`;
  return `${scheme}://${rewriteUser(authority, replace)}${path}${rewritten}`;
}

function rewriteUser(authority: string, replace: Replace): string {
  const at = authority.lastIndexOf("@");
  if (at < 0) return authority;
  const host = authority.slice(at);
  const [user, password] = split(authority.slice(0, at), ":");
  if (password !== null && password !== "") return `${user}:${replace(password)}${host}`;
  return user.length >= TOKEN_LENGTH ? `${replace(user)}${host}` : authority;
}

function rewritePair(pair: string, replace: Replace): string {
  const [name, rest] = split(pair, "=");
  if (rest === null || !SECRET_PARAMETER.test(name)) return pair;
  const value = /^[^#]*/.exec(rest)?.[0] ?? "";
  return value === "" ? pair : `${name}=${replace(value)}${rest.slice(value.length)}`;
}

function split(text: string, separator: string): [string, string | null] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + separator.length)];
}
