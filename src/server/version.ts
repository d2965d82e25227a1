/** The version of this package, read from its manifest. */
import { packageVersion } from "../runtime/package-folder.ts";

export const version: string = packageVersion();
