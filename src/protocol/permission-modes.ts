/** How much an agent may do without asking, as a list: for help texts, which need no schema. */
export const permissionModes = ["default", "plan", "acceptEdits", "bypass"] as const;
