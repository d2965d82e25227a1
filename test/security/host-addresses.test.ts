/** Where a host calls another one: by TLS or on loopback, and never with what a URL carries besides its place. */
import { expect, test } from "vitest";
import { hasCode } from "../../src/protocol/errors.ts";
import { addressOf } from "../../src/server/hosts/address.ts";

const host = (url: string) => ({ id: "one", url, alive: true });

test.each([
  ["https://one.example", { isTls: true, hostname: "one.example", port: 443, prefix: "" }],
  ["https://proxy.example:8443/one/", { isTls: true, hostname: "proxy.example", port: 8443, prefix: "/one" }],
  ["http://127.0.0.1:7717", { isTls: false, hostname: "127.0.0.1", port: 7717, prefix: "" }],
  ["http://localhost/", { isTls: false, hostname: "localhost", port: 80, prefix: "" }],
  ["http://[::1]:7717", { isTls: false, hostname: "::1", port: 7717, prefix: "" }],
])("%s is called", (url, address) => {
  expect(addressOf(host(url))).toEqual(address);
});

test.each([
  ["http://10.0.0.5:7717", "give that host an https URL"],
  ["http://one.example", "give that host an https URL"],
  ["http://127.0.0.1.example", "give that host an https URL"],
  ["http://one.localhost", "give that host an https URL"],
  ["http://0.0.0.0:7717", "give that host an https URL"],
  ["http://[::ffff:10.0.0.5]:7717", "give that host an https URL"],
  ["ftp://127.0.0.1/", "is not an http or https URL"],
  ["file:///etc/passwd", "is not an http or https URL"],
  ["javascript:alert(1)", "is not an http or https URL"],
  ["https://me:hunter2@one.example", "has a user or a password"],
  ["http://hunter2@127.0.0.1", "has a user or a password"],
  ["https://one.example/?to=hunter2", "has more than a path"],
  ["https://one.example/#hunter2", "has more than a path"],
  ["http://[bad", "cannot be read"],
  ["one.example:7717/hunter2", "is not an http or https URL"],
  ["", "does not listen yet"],
])("%j is refused", (url, why) => {
  let error: unknown;
  try {
    addressOf(host(url));
  } catch (thrown) {
    error = thrown;
  }
  expect(hasCode(error, "host_unavailable")).toBe(true);
  expect(String(error)).toContain(why);
  expect(String(error)).toContain("host one");
  expect(String(error)).not.toContain("hunter2");
});
