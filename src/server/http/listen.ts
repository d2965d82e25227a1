/** Binds the server to its address, and turns system errors into messages that include the fix. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiError } from "../../protocol/errors.ts";

export async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(listenError(error, { host, port })));
    server.listen({ host, port }, () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address;
}

function listenError(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): ApiError {
  const options = { cause: error };
  switch (error.code) {
    case "EADDRINUSE":
      return new ApiError("address_in_use", `Port ${port} on ${host} is in use: choose another with --port.`, options);
    case "EACCES":
      return new ApiError("invalid_request", `Port ${port} may not be used by this user: choose another.`, options);
    default:
      return new ApiError(
        "invalid_request",
        `Cannot listen on ${host}:${port} (${error.message}): choose an address of this machine with --host.`,
        options,
      );
  }
}

/** Returns the address for clients on this machine. A wildcard address is reached by loopback. */
export function urlOf({ host, port }: { host: string; port: number }): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
