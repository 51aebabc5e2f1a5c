/** Factors by which the visible part of an axis becomes longer or shorter. */

/** By a key or a button. */
export const KEY_ZOOM = 1.5;
/** By a step of the wheel. */
export const WHEEL_ZOOM = 1.2;
