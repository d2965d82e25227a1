/** Base64 → text, without help of the platform: this layer compiles without its types. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Empty for bytes that are no UTF-8. */
export function textFromBase64(data: string): string {
  const bytes: string[] = [];
  let buffer = 0;
  let bits = 0;
  for (const char of data) {
    const value = ALPHABET.indexOf(char);
    if (value < 0) continue;
    buffer = ((buffer << 6) | value) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push(`%${((buffer >> bits) & 0xff).toString(16).padStart(2, "0")}`);
  }
  try {
    return decodeURIComponent(bytes.join(""));
  } catch {
    return "";
  }
}
