// @ts-nocheck
import { testing } from "@yao/runtime";

export function TestAddress(t: testing.T) {
  t.assert.Equal(1, 1);
}
