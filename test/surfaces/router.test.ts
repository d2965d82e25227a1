/** Which route takes a request, and what of its address counts. */
import { expect, test } from "vitest";
import { createRouter, targetOf } from "../../src/server/http/router.ts";

const nothing = () => "sent" as const;

function routed(...routes: readonly (readonly [string | null, string])[]) {
  const router = createRouter();
  for (const [method, path] of routes) router.add(method, path, nothing);
  return (method: string, path: string) => {
    const found = router.find(method, path);
    return found === null ? null : [found.route, found.params];
  };
}

test("the first route that fits takes the request, and a HEAD what takes a GET", () => {
  const find = routed(
    ["GET", "/a/status"],
    ["GET", "/a/:id"],
    ["POST", "/a/:id"],
    [null, "/a/:id"],
    [null, "/a/*"],
    ["GET", "/a/later/too"],
  );
  expect(find("GET", "/a/status")).toEqual(["/a/status", {}]);
  expect(find("HEAD", "/a/x%20y")).toEqual(["/a/:id", { id: "x y" }]);
  expect(find("DELETE", "/a/x")).toEqual(["/a/:id", { id: "x" }]);
  expect(find("GET", "/a/later/too")).toEqual(["/a/*", {}]);
  expect(find("GET", "/a")).toEqual(["/a/*", {}]);
  expect(find("GET", "/b")).toBeNull();
  expect(find("GET", "/")).toBeNull();
});

test("a parameter is never empty and fits its whole pattern", () => {
  const find = routed(["GET", "/o/:scope{@[a-z]+}/x"], ["GET", "/p/:id"]);
  expect(find("GET", "/o/@ab/x")).toEqual(["/o/:scope{@[a-z]+}/x", { scope: "@ab" }]);
  expect(find("GET", "/o/@ab1/x")).toBeNull();
  expect(find("GET", "/p/")).toBeNull();
  expect(find("GET", "/p/a/")).toBeNull();
});

test.each([
  ["/a/b?c=1&c=2&d=%20+", "/a/b", { c: "1", d: "  " }],
  ["/a/../b/./c", "/b/c", {}],
  ["/a/%2e%2e/b", "/b", {}],
  ["/a/x%2Fy/ä%20b", "/a/x%2Fy/ä b", {}],
  ["/a/%252F", "/a/%252F", {}],
  ["/a/%zz", "/a/%zz", {}],
  ["//other.example/a", "//other.example/a", {}],
  ["http://other.example/a?b=1", "/a", { b: "1" }],
  ["/?__proto__=1", "/", Object.fromEntries([["__proto__", "1"]])],
])("%s is the path %s", (url, path, query) => {
  expect(targetOf(url)).toEqual({ path, query });
});

test("a target that is no address is refused", () => {
  expect(() => targetOf("*")).toThrow("not a path");
  expect(() => targetOf("http://")).toThrow("not a path");
});
