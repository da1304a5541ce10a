// Package ui drives the page of once ui in a real Chromium, beside real stores: what a browser
// sends and refuses is not what a client of package http does.
package ui
