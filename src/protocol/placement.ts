/** Where a session may run, when several hosts share one log. */
import * as z from "zod";

/** `any` host, the one with this id, or one with this label. */
export const WantedPlacement = z
  .string()
  .regex(/^(?:any|host:.{1,128}|label:.{1,128})$/, "write any, host:<id> or label:<label>");

export const Placement = z.object({
  /** Null: the host that it was created on, or one that may take over (`--take-over`). */
  wanted: WantedPlacement.nullable(),
  /** The host that it belongs to; null while it waits for its first one. */
  host: z.string().nullable(),
  /** Why it cannot run at the moment; null when it can. */
  waiting: z.string().nullable(),
  /** Its place among the sessions that wait for their first host, from 1. */
  position: z.number().int().min(1).optional(),
  /** Variables that its host lacks: a session's secrets are stored in no table. */
  missing: z.array(z.string()).optional(),
});
export type Placement = z.infer<typeof Placement>;

export const MoveSession = z.strictObject({ host: z.string().min(1).max(128) });
