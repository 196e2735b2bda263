/** 24 hours, and the longest time that a request can be under way between our sending and its arrival (DESIGN.md, "The gate"). */

export const BUDGET_WINDOW_MS = 24 * 3_600_000 + 30_000;
