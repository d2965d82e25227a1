/** The dialects we speak: one line each. All that is known of a dialect is in its folder. */
import type { Projection } from "../core/projection.ts";
import { acp } from "./acp/index.ts";
import { markdown } from "./markdown/index.ts";
import { opencode } from "./opencode/index.ts";
import { takopi } from "./takopi/index.ts";
import { text } from "./text/index.ts";

export const projections: readonly Projection[] = [opencode, takopi, acp, text, markdown];

export const findProjection = (name: string): Projection | undefined => projections.find((one) => one.name === name);
