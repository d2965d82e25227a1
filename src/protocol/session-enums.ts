/** Two fields of sessions that requests name too, in a file of their own: a daemon loads no more of them. */
import * as z from "zod";
import { permissionModes } from "./permission-modes.ts";

export const PermissionMode = z.enum(permissionModes);
export type PermissionMode = z.infer<typeof PermissionMode>;

/** What a session is doing, as listed and shown: a turn's state, or idle. */
export const SessionStatus = z.enum(["idle", "running", "requires_action", "retrying", "compacting"]);
export type SessionStatus = z.infer<typeof SessionStatus>;
