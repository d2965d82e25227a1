/** Conversations that agents keep in files of their own: what is shown of them, and what adopting one gives. */
import * as z from "zod";

export const DiscoveredConversation = z.object({
  agent: z.string(),
  nativeSessionId: z.string(),
  title: z.string().nullable(),
  directory: z.string().nullable(),
  updatedAt: z.string(),
  size: z.number().int(),
  sessionId: z.string().nullable(),
  readOnly: z.string().optional(),
});
export type DiscoveredConversation = z.infer<typeof DiscoveredConversation>;

export const Discovery = z.object({
  conversations: z.array(DiscoveredConversation).readonly(),
  problems: z.array(z.string()).readonly(),
});
export type Discovery = z.infer<typeof Discovery>;

export const DiscoverQuery = z.strictObject({
  agent: z.string().min(1).optional(),
  since: z.iso.datetime().optional(),
});
export type DiscoverQuery = z.infer<typeof DiscoverQuery>;

export const AdoptRequest = z.strictObject({
  agent: z.string().min(1),
  nativeSessionId: z.string().min(1).max(256),
  fork: z.boolean().optional(),
});
export type AdoptRequest = z.infer<typeof AdoptRequest>;

export const Adoption = z.object({
  sessionId: z.string(),
  outcome: z.enum(["adopted", "updated", "unchanged", "known"]),
  turns: z.number().int(),
  abandoned: z.number().int(),
  open: z.boolean(),
  notes: z.array(z.string()).readonly(),
});
export type Adoption = z.infer<typeof Adoption>;
