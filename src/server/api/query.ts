/** Query parameters: text on the wire, numbers and booleans inside. */
import * as z from "zod";

export const integer = ({ min, max }: { min: number; max: number }) => z.coerce.number().int().min(min).max(max);

/** `true`, `1` or a bare name; `false` or `0`. */
export const flag = z.enum(["true", "false", "1", "0", ""]).transform((text) => text !== "false" && text !== "0");

/** The place before the first event wanted. */
export const offset = integer({ min: 0, max: Number.MAX_SAFE_INTEGER }).describe("Only what comes after this number.");
