/** `/doc`: what this server really answers, as an OpenAPI document without OpenCode's schemas. */
import { defined } from "../../core/defined.ts";
import { OPENCODE_VERSION } from "../../projections/opencode/index.ts";
import type { OpenCodeRoute } from "./route.ts";

export function document(routes: readonly OpenCodeRoute[]): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path, partial } of routes) {
    const operation = {
      summary: `${method} ${path}`,
      ...defined({ description: partial }),
      responses: { default: { description: `As OpenCode ${OPENCODE_VERSION} answers.` } },
    };
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return { openapi: "3.1.0", info: { title: "opencode", version: OPENCODE_VERSION }, paths };
}
