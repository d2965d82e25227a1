/** Amp, by its command line: one process per turn. */
import { defineAdapter } from "../../core/adapter.ts";
import { noCapabilities } from "../../core/capabilities.ts";
import { isAmpLine } from "../../dialects/amp.ts";
import { isShape, isString } from "../../dialects/shape.ts";
import { launch } from "./launch.ts";
import { adapter } from "./translate.ts";

export const amp = defineAdapter({
  agent: "amp",
  name: "Amp",
  isNative: isAmpLine,
  // Its lines look like Claude Code's; only its threads have ids of this form.
  recognises: (value) => isShape(value) && isString(value.session_id) && /^T-[0-9a-f]{8}-/.test(value.session_id),
  adapter,
  launch,
  folder: { lookFor: [] },
  capabilities: {
    ...noCapabilities,
    resume: true,
    reasoning: true,
    echoesPrompts: true,
    oneTurn: true,
    permissionModes: ["default"],
    set: ["mode"],
  },
  binary: {
    name: "amp",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@sourcegraph/amp", version: "0.0.1777897475-g2324e1", fallbacks: [] },
  },
  environment: { prefixes: ["AMP_"] },
  credentials: { variables: ["AMP_API_KEY"], files: [".local/share/amp/secrets.json"] },
  resumeCommand: (id) => `amp threads continue ${id}`,
  modes: [
    { id: "low", name: "Low", description: "Fast and cheap." },
    { id: "medium", name: "Medium", description: "Amp's default." },
    { id: "high", name: "High", description: "More thinking." },
    { id: "ultra", name: "Ultra", description: "The most thinking." },
  ],
});
