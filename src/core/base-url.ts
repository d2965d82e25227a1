/** The variable of a session that says where the builtin agent's model is: `--base-url`, kept with the session. */
export const BASE_URL_VARIABLE = "FRANCA_BASE_URL";
