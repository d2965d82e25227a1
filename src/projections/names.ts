/** The names of the dialects we speak, in the order they are offered: for help texts, which load none of them. */
export const projectionNames = ["opencode", "takopi", "acp", "text", "markdown"] as const;
export type ProjectionName = (typeof projectionNames)[number];
