#!/bin/sh
# A child that never ends.
while :; do :; done
