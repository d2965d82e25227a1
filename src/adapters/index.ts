/** Every agent we understand, one line each. Golden, contract and projection tests cover what is listed here. */
import type { Adapter } from "../core/adapter.ts";
import { builtin } from "./builtin/index.ts";
import { claude } from "./claude/index.ts";
import { mock } from "./mock/index.ts";

export const adapters: readonly Adapter[] = [builtin, claude, mock];

export const adapterFor = (agent: string): Adapter | null =>
  adapters.find((adapter) => adapter.agent === agent) ?? null;
