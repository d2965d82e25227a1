/** Routes by which a page logs in: a one-time code made with the token, exchanged for a credential of the page. */
import { ApiError } from "../../protocol/errors.ts";
import { LoginRequest } from "../../protocol/requests.ts";
import { defineRoute, empty, json, type Route } from "../http/route.ts";

const login = defineRoute({
  method: "post",
  path: "/v1/login",
  doc: {
    id: "login",
    tag: "Daemon",
    summary: "Exchange a one-time code for a page credential",
    description:
      "The credential is sent as `Authorization: Bearer …`. It is valid for 30 days, or until `franca token revoke`.",
    errors: ["token_invalid"],
    answers: "json",
    open: true,
  },
  body: LoginRequest,
  answer: "LoginCredential",
  handle: async ({ credentials, body: { code } }) => {
    const { secret, credential } = credentials.exchange(code);
    return json({ credential: secret, expiresAt: timeText(credential.expiresAt ?? 0) });
  },
});

const makeCode = defineRoute({
  method: "post",
  path: "/v1/login/codes",
  doc: {
    id: "makeLoginCode",
    tag: "Daemon",
    summary: "Make a one-time login code",
    description: "Valid once, for 10 minutes. `franca open` puts it into the fragment of the page's address.",
    errors: [],
    answers: "json",
  },
  access: { surface: "v1", action: "raise", everywhere: true },
  answer: "LoginCode",
  handle: async ({ credentials, caller }) => {
    // A page logs in a second tab with the rights that it has itself. No other credential makes pages.
    if (caller.type === "limited" && caller.credential.kind !== "page") {
      throw new ApiError("person_only", "Only the owner's token and pages may make login codes.");
    }
    const { code, expiresAt } = credentials.makeCode();
    return json({ code, expiresAt: timeText(expiresAt) });
  },
});

const revoke = defineRoute({
  method: "delete",
  path: "/v1/login",
  doc: {
    id: "revokeLogins",
    tag: "Daemon",
    summary: "Log out all web pages",
    description: "All page credentials and login codes are invalid from now on. The token stays.",
    errors: [],
    answers: "empty",
  },
  handle: async ({ credentials }) => {
    credentials.revokeLogins();
    return empty();
  },
});

const timeText = (time: number): string => new Date(time).toISOString();

export const loginRoutes: readonly Route[] = [login, makeCode, revoke];
