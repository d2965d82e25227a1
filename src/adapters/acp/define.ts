/** Makes an adapter of what is known of an ACP agent: how it is started, and in what it differs from the others. */
import { type Adapter, defineAdapter } from "../../core/adapter.ts";
import { type Capabilities, noCapabilities } from "../../core/capabilities.ts";
import { isAcpLine } from "../../dialects/acp-guard.ts";
import { isShape, shapeOf } from "../../dialects/shape.ts";
import type { PermissionMode } from "../../protocol/events.ts";
import type { AcpAgent } from "./definition.ts";
import { explain } from "./handshake.ts";
import { launchOf } from "./launch.ts";
import type { Quirks } from "./quirks.ts";
import { route } from "./route.ts";
import { acpFold, wakeAt } from "./translate.ts";

export function defineAcpAgent(definition: AcpAgent): Adapter {
  const { agent, name, info, quirks = {}, folderFiles, can } = definition;
  const { binary, environment, credentials, modes, trial, resumeCommand } = definition;
  const launch = launchOf(definition);
  return defineAdapter({
    agent,
    name,
    isNative: isAcpLine,
    recognises: (value) => isHello(value, (hello) => isOf(info, hello)),
    adapter: acpFold({ quirks, launch, keys: credentials?.variables ?? [] }),
    wakeAt,
    explain,
    launch,
    capabilities: { ...common, permissionModes: permissionModes(quirks), ...can },
    folder: { lookFor: folderFiles },
    route,
    ...(binary === undefined ? {} : { binary }),
    ...(environment === undefined ? {} : { environment }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(modes === undefined ? {} : { modes }),
    ...(trial === undefined ? {} : { trial }),
    ...(resumeCommand === undefined ? {} : { resumeCommand }),
  });
}

/** What all of them can; what one cannot, its own answer says when the session is opened. */
const common: Capabilities = {
  ...noCapabilities,
  permissions: true,
  resume: true,
  images: true,
  mcp: true,
  deltas: true,
  todos: true,
  reasoning: true,
  set: ["model", "variant", "mode", "permission_mode"],
};

/** Without a mode of its own for it, an agent that is allowed everything is answered by us. */
function permissionModes({ modes = {} }: Quirks): readonly PermissionMode[] {
  const all: readonly PermissionMode[] = ["default", "plan", "acceptEdits", "bypass"];
  return all.filter((mode) => mode === "default" || mode === "bypass" || modes[mode] !== undefined);
}

/** The answer to `initialize`, in either version of the protocol. */
function isHello(value: unknown, isOurs: (hello: Readonly<Record<string, unknown>>) => boolean): boolean {
  if (!isShape(value) || !isShape(value.result) || value.result.protocolVersion === undefined) return false;
  return isOurs(value.result);
}

const infoName = (hello: Readonly<Record<string, unknown>>): unknown => shapeOf(hello.agentInfo ?? hello.info).name;

const isOf = (info: AcpAgent["info"], hello: Readonly<Record<string, unknown>>): boolean =>
  typeof info === "string" ? infoName(hello) === info : info(hello);
