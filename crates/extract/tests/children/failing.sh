#!/bin/sh
# A child that ends without an answer.
exit 3
