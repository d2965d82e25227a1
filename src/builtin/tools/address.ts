/** Which addresses are private: this machine, its network, and the places where clouds keep their secrets. Pure. */
import { BlockList, isIP } from "node:net";

const closed = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  closed.addSubnet(network, bits, "ipv4");
}
for (const [network, bits] of [
  ["::", 127],
  // Translated and tunnelled addresses reach whatever they wrap.
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["2002::", 16],
  ["2001::", 32],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const) {
  closed.addSubnet(network, bits, "ipv6");
}

/** `address` is an IP address; brackets around an IPv6 one are taken. What is no address is treated as private. */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const family = isIP(bare);
  if (family === 4) return closed.check(bare, "ipv4");
  if (family === 0) return true;
  const mapped = mappedV4(bare);
  return mapped === null ? closed.check(bare, "ipv6") : closed.check(mapped, "ipv4");
}

/** `::ffff:7f00:1` and `::ffff:127.0.0.1` are IPv4 in disguise. */
function mappedV4(address: string): string | null {
  const dotted = /^::ffff:(?:0:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  const words = /^::ffff:(?:0:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address);
  if (words === null) return null;
  const high = Number.parseInt(words[1] ?? "", 16);
  const low = Number.parseInt(words[2] ?? "", 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

export const isAddress = (host: string): boolean => isIP(host.replace(/^\[|\]$/g, "")) !== 0;
