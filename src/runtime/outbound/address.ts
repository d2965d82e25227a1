/**
 * The address rule for every URL that Franca itself connects to: public addresses are open; this machine, its network
 * and the places where clouds keep their secrets need an entry of the person's allow list. Pure.
 */
import { BlockList, isIP } from "node:net";

/**
 * `metadata`: link-local addresses, metadata services, and addresses that wrap another one. A name in the allow list
 * does not open these, because the name's owner chooses the address: only the address itself does.
 */
export type AddressKind = "public" | "private" | "metadata";

type Network = readonly [network: string, bits: number];

function listOf(networks: { readonly ipv4: readonly Network[]; readonly ipv6: readonly Network[] }): BlockList {
  const list = new BlockList();
  for (const [network, bits] of networks.ipv4) list.addSubnet(network, bits, "ipv4");
  for (const [network, bits] of networks.ipv6) list.addSubnet(network, bits, "ipv6");
  return list;
}

const metadata = listOf({
  ipv4: [
    ["169.254.0.0", 16],
    // Metadata services outside the link-local range: Alibaba, Azure, Oracle.
    ["100.100.100.200", 32],
    ["168.63.129.16", 32],
    ["192.0.0.192", 32],
  ],
  ipv6: [
    ["fe80::", 10],
    ["fd00:ec2::254", 128],
    ["fd20:ce::254", 128],
    // Translated, tunnelled and embedded addresses reach whatever they wrap.
    ["64:ff9b::", 96],
    ["64:ff9b:1::", 48],
    ["2002::", 16],
    ["2001::", 32],
    ["::ffff:0:0:0", 96],
  ],
});

const closed = listOf({
  ipv4: [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ],
  ipv6: [
    ["::", 96],
    ["fc00::", 7],
    ["fec0::", 10],
    ["ff00::", 8],
  ],
});

/** What is no address counts as the most closed kind. */
export function addressKind(address: string): AddressKind {
  const plain = plainAddress(address);
  if (plain === null) return "metadata";
  const family = familyOf(plain);
  if (metadata.check(plain, family)) return "metadata";
  return closed.check(plain, family) ? "private" : "public";
}

/** `address` is an IP address; brackets around an IPv6 one are taken. What is no address is treated as private. */
export const isPrivateAddress = (address: string): boolean => addressKind(address) !== "public";

export const isAddress = (host: string): boolean => isIP(withoutBrackets(host)) !== 0;

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "");

const familyOf = (plain: string): "ipv4" | "ipv6" => (isIP(plain) === 4 ? "ipv4" : "ipv6");

/** One spelling for each address, IPv4 inside IPv6 unwrapped; null when it is no address. */
function plainAddress(address: string): string | null {
  const bare = withoutBrackets(address).replace(/%.*$/, "");
  const family = isIP(bare);
  if (family !== 6) return family === 4 ? bare : null;
  const short = withoutBrackets(new URL(`http://[${bare}]/`).hostname);
  const words = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (words === null) return short;
  const high = Number.parseInt(words[1] ?? "", 16);
  const low = Number.parseInt(words[2] ?? "", 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** An entry of an allow list: a name or an address, with a port where one was given, or a network. */
export type AllowEntry =
  | { readonly type: "host"; readonly host: string; readonly port: string | null }
  | { readonly type: "network"; readonly network: string; readonly bits: number };

export const ALLOW_FORM = "it is a host name, an address or a network, like hooks.local, 127.0.0.1:8080 or 10.0.0.0/8";

/** Null when it is none of these. */
export function readAllowEntry(text: string): AllowEntry | null {
  const [, network, bits] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  if (network !== undefined && bits !== undefined) {
    const family = isIP(network);
    if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return null;
    return { type: "network", network, bits: Number(bits) };
  }
  const spelled = isIP(text) === 6 ? `[${text}]` : text;
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^\s/:@[\]?#\\]+)(?::(\d{1,5}))?$/.exec(spelled) ?? [];
  if (host === undefined || !URL.canParse(`http://${host}/`)) return null;
  return { type: "host", host: new URL(`http://${host}/`).hostname, port: port ?? null };
}

export interface Destination {
  readonly url: URL;
  /** What its host was resolved to: one address for one that is an address itself. */
  readonly addresses: readonly string[];
  readonly allow: readonly string[];
}

/** Why this may not be connected to, in a sentence; null when it may. Every address must be open, not one of them. */
export function refusal({ url, addresses, allow }: Destination): string | null {
  const form = urlRefusal(url);
  if (form !== null) return form;
  if (addresses.length === 0) return `${url.hostname} has no address.`;
  const entries = allow.flatMap((text) => readAllowEntry(text) ?? []);
  const bad = addresses.find((address) => !isOpen({ url, address, entries }));
  if (bad === undefined) return null;
  const kind = addressKind(bad) === "metadata" ? "a link-local or metadata address" : "a private address";
  const shown = isAddress(url.hostname) ? url.hostname : `${url.hostname} (${bad})`;
  return `${shown} is ${kind}, which must be allowed explicitly.`;
}

function urlRefusal(url: URL): string | null {
  if (url.protocol !== "http:" && url.protocol !== "https:") return `${url.protocol} is neither http nor https.`;
  if (url.username !== "" || url.password !== "") return "A URL with a user name or a password in it is not used.";
  return null;
}

interface Judged {
  readonly url: URL;
  readonly address: string;
  readonly entries: readonly AllowEntry[];
}

function isOpen({ url, address, entries }: Judged): boolean {
  const kind = addressKind(address);
  if (kind === "public") return true;
  const plain = plainAddress(address);
  if (plain === null) return false;
  return entries.some((entry) => {
    if (entry.type === "network") return isWithin(plain, entry);
    if (entry.port !== null && entry.port !== portOf(url)) return false;
    if (isAddress(entry.host)) return plainAddress(entry.host) === plain;
    return kind === "private" && entry.host === url.hostname;
  });
}

const portOf = ({ port, protocol }: URL): string => (port === "" ? (protocol === "https:" ? "443" : "80") : port);

function isWithin(plain: string, { network, bits }: Extract<AllowEntry, { type: "network" }>): boolean {
  if (isIP(network) !== isIP(plain)) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, familyOf(plain));
  return list.check(plain, familyOf(plain));
}
